"""Pages of administrators; included at the root."""

from django.urls import path

from fsbench_web.accounts.people import views

app_name = "people"
urlpatterns = [
    path("people/", views.people_list, name="people"),
    path("people/<int:user_id>/", views.person, name="person"),
    path("people/<int:user_id>/password/", views.set_password, name="set_password"),
    path("people/<int:user_id>/identities/", views.link_identity, name="link_identity"),
    path(
        "people/<int:user_id>/identities/<int:identity_id>/unlink/",
        views.unlink_identity,
        name="unlink_identity",
    ),
    path("people/teams/", views.teams, name="teams"),
    path("people/teams/<int:team_id>/", views.team, name="team"),
    path("audit/", views.audit_log, name="audit"),
]
