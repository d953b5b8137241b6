from django.urls import path

from fsbench_web.accounts.sign_in import email_views, openid_views, views

app_name = "accounts"
urlpatterns = [
    path("", views.account, name="account"),
    path("sign-in/", views.sign_in, name="sign_in"),
    path("sign-in/service/", openid_views.begin, name="oidc_begin"),
    path("sign-in/service/callback/", openid_views.callback, name="oidc_callback"),
    path("sign-out/", views.sign_out, name="sign_out"),
    path("password/", views.change_password, name="change_password"),
    path("email/", email_views.ask, name="ask_email"),
    path("email/<str:signed>/", email_views.confirm, name="confirm_email"),
    path("tokens/", views.create_token, name="create_token"),
    path("tokens/<int:token_id>/revoke/", views.revoke_token, name="revoke_token"),
]
