// What a type checker must let through, and what not: an error that is expected
// here and does not come is an error.
import * as keys from "./usagekeys.js";

export const key: string = keys.profile.key({ userId: 1 });
export const large: string = keys.profile.key({ userId: 9223372036854775807n });
export const bytes: Uint8Array = keys.blob.key({ raw: new Uint8Array([255]) });
export const fixed: string = keys.recent.key();
export const lanes: string[] = [keys.lane.key(), keys.lane.key({}), keys.lane.key({ speed: "fast" }), keys.trip.key({ n: 1 }), keys.trip.key({ n: 1, speed: undefined })];
export const speed: "fast" | "slow" | undefined = keys.lane.parse("lane:fast")?.speed;
export const state: "open" | "closed" | undefined = keys.case2.parse("case:true:open")?.state;
export const flag: boolean | undefined = keys.case2.parse("case:true:open")?.flag;
export const page: number | undefined = keys.page.parse("page:3")?.n;
export const user: number | bigint | undefined = keys.profile.parse(new Uint8Array())?.userId;
export const px: number = keys.page.ttl.px(30_000);
export const args: ["PX", number] = keys.page.ttl.args();
export const options: { PX: number } = keys.page.ttl.options();
export const profile: keys.ProfileValue = { name: "a", plan: "free", visits: 1 };
export const settings: keys.SettingsFields = { theme: "dark", dense: true, phone: new Uint8Array([1]) };
export const stored: Record<string, string | Uint8Array> = keys.settings.fields.encode(settings);
export const visits: number | bigint = keys.profile.value.decode("{}").visits;
export const seen: Date | undefined = keys.profile.value.decode(new Uint8Array()).seen;
export const raw: Uint8Array = keys.blob.value.encode(new Uint8Array());
export const times: number = keys.recent.score.encode(new Date());
//doc:begin values
export const mail: keys.MailsJobPayload = { to: "a", at: new Date(), day: new Date() };
export const job: string = keys.mailsJob.payload.encode(mail);
export const due: Date = keys.mailsJob.payload.decodeJob(job).at;
export const count: number | bigint = keys.countsJob.payload.decode("1");
export const data: keys.MovedChannelData = { id: 1, to: "closed", at: new Date() };
export const sent: string = keys.movedChannel.message.encode({ timestamp: new Date(), data });
export const heard: Date = keys.movedChannel.message.decode(sent).data.at;
export const database: number | bigint | undefined = keys.movedChannel.message.decode(sent).db;
//doc:end
export const said: keys.SaidChannelMessage = { to: "open", at: new Date() };
export const kept: keys.KeptMessage = keys.kept.fields.decode(["timestamp", "5", "data", "{}"]);
export const day: Date = kept.data.day;
export const until: Date | undefined = keys.askReplyChannel.message.decode("").data?.until;
export const anything: unknown = keys.anythingChannel.message.decode("").data;
export const member: keys.CaseMember = "open";
export const score: keys.RecentScore = new Date();
export const channel: string = keys.movedChannel.channel({ state: "open" });
export const message: keys.MovedChannelMessage = { timestamp: new Date(), data, db: 0 };
export const none: "none" = keys.settings.ttl.policy;
export const every: keys.AnyKey[] = [...keys.allKeys.values()];
for (const k of every) if (k.ttl.policy === "expires") k.ttl.px();

// @ts-expect-error only what has a default may be left out
keys.trip.key({ speed: "fast" });
// @ts-expect-error a placeholder is missing
keys.profile.key({});
// @ts-expect-error there is no such placeholder
keys.profile.key({ userId: 1, id: 2 });
// @ts-expect-error a number, not its text
keys.profile.key({ userId: "1" });
// @ts-expect-error not a state
keys.case2.key({ flag: true, state: "ajar" });
// @ts-expect-error bytes, not text
keys.blob.key({ raw: "abc" });
// @ts-expect-error nothing to fill in
keys.recent.key({ id: 1 });
// @ts-expect-error a key of bytes is no text
export const text: string = keys.blob.key({ raw: new Uint8Array() });
// @ts-expect-error maybe not such a key
export const sure: number | bigint = keys.profile.parse("x").userId;
// @ts-expect-error it never expires
keys.settings.ttl.px();
// @ts-expect-error not a plan
export const plan: keys.ProfileValue = { name: "a", plan: "gold", visits: 1 };
// @ts-expect-error optional means absent, not undefined
export const phone: keys.SettingsFields = { theme: "dark", dense: true, phone: undefined };
// @ts-expect-error a message has an envelope
export const bare: keys.MovedChannelMessage = { id: 1, to: "closed", at: new Date() };
export const today: string = keys.sales.key({ day: new Date() });
export const then: string = keys.sales.key({ day: "2026-11-20" });
// @ts-expect-error what is read is text
export const read: Date = keys.sales.parse(today)!.day;
// @ts-expect-error a date, not its text
export const late: keys.MailsJobPayload = { to: "a", at: new Date(), day: "2026-11-20" };
// @ts-expect-error a payload is no text
export const line: string = keys.mailsJob.payload.decode("{}");
// @ts-expect-error a boolean, not its text
keys.settings.fields.encode({ theme: "dark", dense: "true" });
// @ts-expect-error what locks and queues send is no message of the declaration's
void keys.mailsReadyChannel.message;
// @ts-expect-error what is declared does not change
keys.profile.name = "other";
