import pytest

from fsbench_web.core.scoring import categories, testnames


def test_the_seven_categories_stand_in_the_papers_order():
    assert list(categories.CATEGORIES) == [
        "maximum",
        "minimum",
        "total_average",
        "target_average",
        "ora_ta",
        "specfp_ta",
        "overall",
    ]


def test_mean_is_a_category_of_its_own():
    assert categories.MEAN not in categories.CATEGORIES
    assert categories.category("mean").label == "Mean"
    with pytest.raises(KeyError):
        categories.category("median")


def test_what_is_not_known_by_name_comes_last_and_keeps_its_name():
    slugs = ["zebra", "overall", "mean", "maximum", "aardvark"]
    assert sorted(slugs, key=categories.place) == [
        "maximum",
        "overall",
        "mean",
        "aardvark",
        "zebra",
    ]
    assert categories.label("zebra") == "zebra"


def test_tests_stand_in_iozones_order_and_others_after_them():
    names = ["mkfs", "read", "fwrite", "write", "random_read"]
    assert sorted(names, key=testnames.place) == ["write", "read", "random_read", "fwrite", "mkfs"]
    assert testnames.label("random_write") == "Random write"
    assert testnames.label("") == ""
