"""What a type checker must let through, and what not: an error that is expected
here and does not come is an error."""

from __future__ import annotations

import typing as t

import usagekeys as keys

key: str = keys.profile.key(user_id=1)
data: bytes = keys.blob.key(raw=b"\xff")
fixed: str = keys.recent.key()
found = keys.case_.parse("case:true:open")
if found is not None:
    state: t.Literal["open", "closed"] = found["state"]
    flag: bool = found["flag"]
page = keys.page.parse(b"page:3")
number: int = page["n"] if page else 0
px: int = keys.page.ttl.px(30_000)
profile: keys.ProfileValue = {"name": "a", "plan": "free", "visits": 1}
settings: keys.SettingsFields = {"theme": "dark", "dense": "true", "phone": "…"}
member: keys.CaseMember = "open"
channel: str = keys.moved_channel.channel(state="open")
message: keys.MovedChannelMessage = {"id": 1, "to": "closed"}
names: t.List[str] = [k.name for k in keys.ALL_KEYS.values()]


def wrong() -> None:
    keys.profile.key()  # pyright: ignore[reportCallIssue]
    keys.profile.key(user_id=1, id=2)  # pyright: ignore[reportCallIssue]
    keys.profile.key(1)  # pyright: ignore[reportCallIssue]
    keys.profile.key(user_id="1")  # pyright: ignore[reportArgumentType]
    keys.case_.key(flag=True, state="ajar")  # pyright: ignore[reportArgumentType]
    keys.blob.key(raw="abc")  # pyright: ignore[reportArgumentType]
    keys.profile.parse("x")["user_id"]  # pyright: ignore[reportOptionalSubscript]
    plan: keys.ProfileValue = {"name": "a", "plan": "gold", "visits": 1}  # pyright: ignore[reportAssignmentType]
    print(plan)
