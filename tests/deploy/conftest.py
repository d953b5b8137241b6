"""One started stack for all tests of this folder that need it."""

from collections.abc import Iterator

import pytest

from tests.services.compose import Person, Stack, stack
from tests.services.image import build_stack_images


@pytest.fixture(scope="package")
def the_stack(
    docker_host: str, runner_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    """docker-compose.yml, started with images that no registry gave."""
    build_stack_images(docker_host)
    with stack(tmp_path_factory.mktemp("stack"), docker_host) as there:
        yield there


@pytest.fixture(scope="package")
def admin(the_stack: Stack) -> Person:
    return the_stack.administrator()
