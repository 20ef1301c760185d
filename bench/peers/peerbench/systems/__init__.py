"""The systems that are measured, and with which settings."""

from .etcd import Etcd
from .hustings import Hustings
from .keepalived import Keepalived
from .patroni import Patroni
from .postgres import Postgres
from .zookeeper import ZooKeeper

CASES = {
    "hustings": lambda: Hustings("exclusive, defaults"),
    "hustings-fenced": lambda: Hustings("fenced, defaults"),
    "hustings-fast": lambda: Hustings("exclusive, fast"),
    "etcd": lambda: Etcd("defaults"),
    "etcd-fast": lambda: Etcd("fast"),
    "zookeeper": lambda: ZooKeeper("defaults"),
    "zookeeper-fast": lambda: ZooKeeper("fast"),
    "keepalived": lambda: Keepalived("defaults"),
    "keepalived-fast": lambda: Keepalived("fast"),
    "postgres": lambda: Postgres("defaults"),
    "postgres-fast": lambda: Postgres("fast"),
    "patroni": lambda: Patroni("defaults"),
    "patroni-fast": lambda: Patroni("fast"),
}
