"""People with roles, for tests."""

from django.contrib.auth.models import User

from fsbench_web.accounts.models import Person, Role

ROLES = (None, *Role)


def person(role: Role, name: str = "") -> User:
    """An account with this role and no other right."""
    user = User.objects.create_user(name or f"some-{role}", is_staff=role is Role.ADMINISTRATOR)
    Person.objects.create(user=user, role=role)
    return user
