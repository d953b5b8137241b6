"""All tables of accounts as version 0.11 has them. A database of 0.11 is taken as it is."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("accounts", "0001_initial"),
        ("accounts", "0002_rights"),
        ("accounts", "0003_roles_of_who_was_there"),
        ("accounts", "0004_tokens_that_administer"),
        ("accounts", "0005_given_passwords"),
        ("accounts", "0006_sources_of_attempts"),
        ("accounts", "0007_submitting"),
    ]

    initial = True

    dependencies = [
        ("catalog", "0001_tables_of_0_11"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                ("who", models.CharField(help_text="Account, or worker:<name>", max_length=150)),
                (
                    "what",
                    models.CharField(help_text="A word of accounts.audit.WORDS", max_length=40),
                ),
                (
                    "thing",
                    models.CharField(help_text="run 12, study lab, LUN host/disk1", max_length=200),
                ),
                ("detail", models.JSONField(default=dict)),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["what", "-id"], name="accounts_au_what_b088db_idx"),
                    models.Index(fields=["who", "-id"], name="accounts_au_who_518839_idx"),
                ],
            },
        ),
        migrations.CreateModel(
            name="GivenPassword",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("given_at", models.DateTimeField()),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="given_password",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SignInAttempt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=64)),
                ("source", models.CharField(db_default="", default="", max_length=64)),
                ("at", models.DateTimeField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["key", "at"], name="accounts_si_key_1fcbc7_idx"),
                    models.Index(fields=["source", "at"], name="accounts_si_source_a2d7fe_idx"),
                    models.Index(fields=["at"], name="accounts_si_at_4f671f_idx"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Team",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=80, unique=True)),
                (
                    "members",
                    models.ManyToManyField(related_name="teams", to=settings.AUTH_USER_MODEL),
                ),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="What it is for, so that it can be revoked", max_length=80
                    ),
                ),
                (
                    "hint",
                    models.CharField(
                        help_text="Its first characters, to recognise it by", max_length=12
                    ),
                ),
                ("digest", models.CharField(max_length=64, unique=True)),
                (
                    "can_import",
                    models.BooleanField(default=True, help_text="Imports, permalinks and watches"),
                ),
                (
                    "can_run",
                    models.BooleanField(default=True, help_text="Submitting and steering runs"),
                ),
                (
                    "can_administer",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="People, teams, grants, the audit log",
                    ),
                ),
                (
                    "expires_at",
                    models.DateTimeField(help_text="null: it stays until it is revoked", null=True),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("last_used_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("user", "name"), name="token_name_unique_for_user"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Person",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "Viewer"),
                            ("contributor", "Contributor"),
                            ("operator", "Operator"),
                            ("administrator", "Administrator"),
                        ],
                        max_length=15,
                    ),
                ),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="person",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("role__in", ["viewer", "contributor", "operator", "administrator"])
                        ),
                        name="person_role_is_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="LunGrant",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "lun",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to="catalog.lun",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="lun_grants",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="lun_grants",
                        to="accounts.team",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("user__isnull", True), ("team__isnull", True), _connector="XOR"
                        ),
                        name="grant_is_of_one",
                    ),
                    models.UniqueConstraint(fields=("lun", "user"), name="grant_unique_for_user"),
                    models.UniqueConstraint(fields=("lun", "team"), name="grant_unique_for_team"),
                ],
            },
        ),
    ]
