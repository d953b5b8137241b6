import logging
from typing import Any, NoReturn

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.db import DatabaseError, InterfaceError

from fsbench_web.platform import database_problems, log_lines
from fsbench_web.platform.commands import SiteCommand
from runner.config import choose_executor, guests_of, read_config
from runner.orphans import lock_of
from runner.safety.locks import LockedElsewhere, worker_lock
from runner.safety.luns import LunFileError
from runner.service import serve
from runner.worker import Host

logger = logging.getLogger("fsbench.worker")


class Command(SiteCommand):
    help = "Execute benchmark runs on this host's LUNs until SIGTERM or Ctrl-C."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            config = read_config()
            log_lines.of_process(service="worker", worker=config.name)
            with worker_lock(lock_of(config.name, config.site)):
                executor, reason = choose_executor(config)
                self._echo(f"Worker {config.name}, executor {executor.name}: {reason}")
                status = serve(Host(config, executor, reason, guests_of(config)), self._echo)
        except (ImproperlyConfigured, LunFileError, LockedElsewhere, RuntimeError) as error:
            self._refuse(str(error))
        except (DatabaseError, InterfaceError) as error:
            # Once it serves, it outlasts a database that is away: this is its start.
            self._refuse(database_problems.sentences(error))
        if status:
            raise SystemExit(status)

    def _refuse(self, sentence: str) -> NoReturn:
        sentence = log_lines.hide_secrets(sentence, [])
        if settings.LOG_FORMAT == "json":
            logger.critical(sentence)
            raise SystemExit(1)
        raise CommandError(sentence) from None

    def _echo(self, sentence: str) -> None:
        """For the person who started it; JSON logs get no such line."""
        if settings.LOG_FORMAT == "json":
            logger.info(sentence)
        else:
            self.stdout.write(sentence)
