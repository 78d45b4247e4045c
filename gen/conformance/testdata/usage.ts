// What a type checker must let through, and what not: an error that is expected
// here and does not come is an error.
import * as keys from "./usagekeys.js";

export const key: string = keys.profile.key({ userId: 1 });
export const large: string = keys.profile.key({ userId: 9223372036854775807n });
export const bytes: Uint8Array = keys.blob.key({ raw: new Uint8Array([255]) });
export const fixed: string = keys.recent.key();
export const state: "open" | "closed" | undefined = keys.case2.parse("case:true:open")?.state;
export const flag: boolean | undefined = keys.case2.parse("case:true:open")?.flag;
export const page: number | undefined = keys.page.parse("page:3")?.n;
export const user: number | bigint | undefined = keys.profile.parse(new Uint8Array())?.userId;
export const px: number = keys.page.ttl.px(30_000);
export const args: ["PX", number] = keys.page.ttl.args();
export const options: { PX: number } = keys.page.ttl.options();
export const profile: keys.ProfileValue = { name: "a", plan: "free", visits: 1 };
export const settings: keys.SettingsFields = { theme: "dark", dense: "true", phone: "…" };
export const member: keys.CaseMember = "open";
export const score: keys.RecentScore = 1;
export const channel: string = keys.movedChannel.channel({ state: "open" });
export const message: keys.MovedChannelMessage = { id: 1, to: "closed" };
export const none: "none" = keys.settings.ttl.policy;
export const every: keys.AnyKey[] = [...keys.allKeys.values()];
for (const k of every) if (k.ttl.policy === "expires") k.ttl.px();

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
export const phone: keys.SettingsFields = { theme: "dark", dense: "true", phone: undefined };
// @ts-expect-error what is declared does not change
keys.profile.name = "other";
