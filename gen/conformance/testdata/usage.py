"""What a type checker must let through, and what not: an error that is expected
here and does not come is an error."""

from __future__ import annotations

import datetime as d
import typing as t

import usagekeys as keys

key: str = keys.profile.key(user_id=1)
data: bytes = keys.blob.key(raw=b"\xff")
lanes: t.List[str] = [keys.lane.key(), keys.lane.key(speed="fast"), keys.trip.key(n=1), keys.trip.key(n=1, speed="fast")]
fixed: str = keys.recent.key()
found = keys.case_.parse("case:true:open")
if found is not None:
    state: t.Literal["open", "closed"] = found["state"]
    flag: bool = found["flag"]
page = keys.page.parse(b"page:3")
number: int = page["n"] if page else 0
px: int = keys.page.ttl.px(30_000)
profile: keys.ProfileValue = {"name": "a", "plan": "free", "visits": 1}
settings: keys.SettingsFields = {"theme": "dark", "dense": True, "phone": b"\x01"}
stored: t.Dict[str, t.Union[str, bytes]] = keys.settings.fields.encode(settings)
now = d.datetime.now(d.timezone.utc)
member: keys.CaseMember = "open"
channel: str = keys.moved_channel.channel(state="open")
mail: keys.MailsJobPayload = {"to": "a", "at": now, "day": now.date()}
job: str = keys.mails_job.payload.encode(mail)
due: d.datetime = keys.mails_job.payload.decode_job(job)["at"]
count: int = keys.counts_job.payload.decode(b"1")
moved: keys.MovedChannelData = {"id": 1, "to": "closed", "at": now}
message: keys.MovedChannelMessage = {"timestamp": now, "data": moved}
heard: d.datetime = keys.moved_channel.message.decode(keys.moved_channel.message.encode(message))["data"]["at"]
said: keys.SaidChannelMessage = {"to": "open", "at": now}
kept: keys.KeptMessage = keys.kept.fields.decode({b"timestamp": b"5", b"data": b'{"day": "2026-11-20", "total": 1}'})
day: d.date = kept["data"]["day"]
recent: float = keys.recent.score.encode(now)
blob: bytes = keys.blob.value.encode(b"\xff")
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
    bare: keys.MovedChannelMessage = {"id": 1, "to": "closed", "at": now}  # pyright: ignore[reportAssignmentType]
    late: keys.MailsJobPayload = {"to": "a", "at": now, "day": "2026-11-20"}  # pyright: ignore[reportAssignmentType]
    line: str = keys.mails_job.payload.decode("{}")  # pyright: ignore[reportAssignmentType]
    print(plan, bare, late, line)
    keys.mails_ready_channel.message  # pyright: ignore
