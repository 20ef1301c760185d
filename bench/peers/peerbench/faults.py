"""What is done to the holder, the same for every system."""

import signal

from .network import send


class Fault:
    """`plan` looks up whom it concerns and returns the act itself, so that the clock can start in between."""

    name = ""

    def plan(self, system, host):
        raise NotImplementedError

    def thaw(self, host):
        """What happens after the successor has started, while both are recorded. Returns whether anything does."""
        return False

    def heal(self, host):
        """Undoes what would outlast a restart of the host's processes."""


class HolderKilled(Fault):
    """SIGKILL of the process that holds the lease or the lock. Servers on its host stay up, and so does its worker."""

    name = "holder killed"

    def plan(self, system, host):
        pids = system.holder_pids(host)
        return lambda: send(pids, signal.SIGKILL)


class HostKilled(Fault):
    """SIGKILL of everything on the holder's host: server, holder and worker. All are stopped first, so that none of
    them can react to the death of another."""

    name = "host killed"

    def plan(self, system, host):
        pids = host.pids()

        def kill():
            send(pids, signal.SIGSTOP)
            send(pids, signal.SIGKILL)

        return kill


class HostFrozen(Fault):
    """SIGSTOP of everything on the holder's host, as when a virtual machine is paused. It continues afterwards."""

    name = "host frozen"

    def plan(self, system, host):
        pids = host.pids()
        return lambda: send(pids, signal.SIGSTOP)

    def thaw(self, host):
        send(host.pids(), signal.SIGCONT)
        return True


class CutOff(Fault):
    """Nothing reaches the holder's host or leaves it any more. Everything on it keeps running."""

    name = "cut off"

    def plan(self, system, host):
        return host.cut

    def heal(self, host):
        host.heal()


FAULTS = {fault.name: fault for fault in (HolderKilled(), HostKilled(), HostFrozen(), CutOff())}
