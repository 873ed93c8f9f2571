"""The users of the benchmarks, the same as those of the C program."""

BIO = "likes long walks on the sandbar when the tide is out"
COLUMNS = ("uid", "username", "display_name", "bio", "avatar_uid", "updated_at")
FIELDS = COLUMNS[1:]
TABLE = (
    "CREATE TABLE user (uid INTEGER PRIMARY KEY NOT NULL, username TEXT, display_name TEXT, bio TEXT,"
    " avatar_uid INTEGER, updated_at INTEGER)"
)
INSERT = "INSERT INTO user VALUES (?, ?, ?, ?, ?, ?)"
SELECT = "SELECT uid, username, display_name, bio, avatar_uid, updated_at FROM user WHERE uid = ?"
UPDATE = "UPDATE user SET display_name = ?, updated_at = ? WHERE uid = ?"

_MASK = (1 << 64) - 1


def mix(x):
    """SplitMix64 (Steele, Lea, Flood 2014), as in the C program."""
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def user(uid):
    """Returns the columns of a user."""
    salt = mix(uid)
    name = f"SimulatedUser {salt & 0xFFFFFF:06x}"
    return (uid, f"user{uid}", name, BIO, salt % 100_000, 1_700_000_000_000 + uid)


def random_uids(count, total, seed):
    """Returns the uids below `total` that the C program chooses with the same seed."""
    return [mix(seed + index) % total for index in range(count)]


def batches(items, size):
    """Returns slices of a list."""
    return [items[first : first + size] for first in range(0, len(items), size)]
