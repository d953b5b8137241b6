from django.db import migrations


def keep_what_people_could_do(apps, schema_editor):
    """Everybody with an account could do everything: they become operators of all LUNs there are.

    Superusers and staff are administrators without a row. Later accounts get the default role.
    """
    user_model = apps.get_model("auth", "User")
    person, grant = apps.get_model("accounts", "Person"), apps.get_model("accounts", "LunGrant")
    luns = list(apps.get_model("catalog", "Lun").objects.values_list("pk", flat=True))
    for user in user_model.objects.filter(is_superuser=False, is_staff=False):
        person.objects.create(user=user, role="operator")
        grant.objects.bulk_create(grant(user=user, lun_id=lun) for lun in luns)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_rights")]

    operations = [
        migrations.RunPython(keep_what_people_could_do, migrations.RunPython.noop),
    ]
