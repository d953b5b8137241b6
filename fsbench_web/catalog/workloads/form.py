"""What the page and the API take of an uploaded workload, checked alike."""

from django import forms

from fsbench_web.catalog.models import OwnWorkload
from fsbench_web.core import formats
from fsbench_web.core.workloads.fio.jobs import MOST_BYTES


class UploadForm(forms.Form):
    """What is not for a worker to judge: the text itself is checked where it becomes a workload."""

    title = forms.CharField(max_length=100)
    kind = forms.ChoiceField(choices=OwnWorkload.Kind.choices, initial=OwnWorkload.Kind.FIO)
    file = forms.FileField(required=False, allow_empty_file=False)
    text = forms.CharField(required=False, strip=False, widget=forms.Textarea)
    parser = forms.ChoiceField(choices=[(name, name) for name in formats.FORMATS], required=False)
    space_mb = forms.IntegerField(min_value=1, max_value=2**30, initial=1024)

    def clean(self) -> dict[str, object]:
        data = super().clean() or {}
        upload = data.get("file")
        if upload is not None:
            if data.get("text", "").strip():
                raise forms.ValidationError("Give a file or a text, not both.")
            if upload.size > MOST_BYTES:
                raise forms.ValidationError(f"The file has more than {MOST_BYTES // 1024} KiB.")
            try:
                data["text"] = upload.read().decode()
            except UnicodeDecodeError:
                raise forms.ValidationError("The file is no text (UTF-8).") from None
        if not str(data.get("text", "")).strip() and not self.errors:
            raise forms.ValidationError("Give a file, or write the text.")
        if "\x00" in str(data.get("text", "")):
            raise forms.ValidationError("The text has NUL characters.")
        return data
