"""What hardware profiles are called by commands and in addresses."""

from fsbench_web.catalog.models import HardwareProfile

SHOWN = 20


def unknown(slug: str) -> str:
    """The sentence for anyone who asked for a profile that is not there. Two queries at most."""
    slugs = list(HardwareProfile.objects.order_by("slug").values_list("slug", flat=True)[:SHOWN])
    sentence = f'There is no hardware profile "{slug}"; use the name in its address.'
    if not slugs:
        return f"{sentence} There is none yet."
    left_out = HardwareProfile.objects.count() - len(slugs)
    others = f" and {left_out} more, on the hardware page" if left_out else ""
    return f"{sentence} There are: {', '.join(slugs)}{others}."
