from typing import Any

from fsbench_web.compare.watches import watching
from fsbench_web.platform.commands import SiteCommand


class Command(SiteCommand):
    help = (
        "Look at every watched line and send waiting messages. `make run` does this every minute. "
        "You may also run it at any time."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        messages = watching.run_maintenance()
        for message in messages:
            self.stdout.write(f"{watching.title_of(message.watch)}: {message.sentence}")
        self.stdout.write(f"{len(messages)} new messages.")
