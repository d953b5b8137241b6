from django.urls import path

from fsbench_web.accounts.sign_in import views

app_name = "accounts"
urlpatterns = [
    path("", views.account, name="account"),
    path("sign-in/", views.sign_in, name="sign_in"),
    path("sign-in/service/", views.begin_service, name="oidc_begin"),
    path("sign-in/service/callback/", views.end_service, name="oidc_callback"),
    path("sign-out/", views.sign_out, name="sign_out"),
    path("password/", views.change_password, name="change_password"),
    path("email/", views.ask_email, name="ask_email"),
    path("email/<str:signed>/", views.confirm_email, name="confirm_email"),
    path("tokens/", views.create_token, name="create_token"),
    path("tokens/<int:token_id>/revoke/", views.revoke_token, name="revoke_token"),
]
