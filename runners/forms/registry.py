"""All forms by name."""

from results.errors import InputError
from runners.forms.filelist import FILELIST
from runners.forms.form import Form
from runners.forms.ofrecord import OFRECORD
from runners.forms.recordio import RECORDIO
from runners.forms.tfrecord import TFRECORD

FORMS = {form.name: form for form in (TFRECORD, RECORDIO, OFRECORD, FILELIST)}


def form_called(name: str) -> Form:
    """Return the form of a name, or `InputError`."""
    if name not in FORMS:
        what = f"FORM={name!r} is no form" if name else "A conversion needs --form"
        raise InputError(f"{what}: choose one of {', '.join(FORMS)}.")
    return FORMS[name]
