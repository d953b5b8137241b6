"""Pages of administrators; included at the root."""

from django.urls import path

from fsbench_web.accounts import people_views

app_name = "people"
urlpatterns = [
    path("people/", people_views.people_list, name="people"),
    path("people/<int:user_id>/", people_views.person, name="person"),
    path("people/<int:user_id>/password/", people_views.set_password, name="set_password"),
    path("people/<int:user_id>/identities/", people_views.link_identity, name="link_identity"),
    path(
        "people/<int:user_id>/identities/<int:identity_id>/unlink/",
        people_views.unlink_identity,
        name="unlink_identity",
    ),
    path("people/teams/", people_views.teams, name="teams"),
    path("people/teams/<int:team_id>/", people_views.team, name="team"),
    path("audit/", people_views.audit_log, name="audit"),
]
