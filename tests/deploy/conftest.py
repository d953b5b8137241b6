"""One started stack for all tests of this folder that need it."""

from collections.abc import Iterator

import pytest

from tests.services.compose import Person, Stack, stack
from tests.services.dockerd import docker_daemon
from tests.services.image import build_runner_image, build_stack_images, stack_store


@pytest.fixture(scope="package")
def the_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """docker-compose.yml, started in a daemon of its own with images that no registry gave."""
    with docker_daemon(stack_store()) as daemon:
        build_runner_image(daemon.host)
        build_stack_images(daemon.host)
        with stack(tmp_path_factory.mktemp("stack"), daemon.host) as running_stack:
            yield running_stack


@pytest.fixture(scope="package")
def admin(the_stack: Stack) -> Person:
    return the_stack.administrator()
