// Figures, sizes and times as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const when = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });

/** count writes all digits. */
export const count = (n: number): string => whole.format(n);

/** brief writes three digits at most: 1.2M. */
export const brief = (n: number): string => (Math.abs(n) < 10_000 ? whole.format(n) : short.format(n));

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function bytes(n: number): string {
  const sign = n < 0 ? "−" : "";
  let value = Math.abs(n);
  let unit = 0;
  while (value >= 1023.5 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : 1;
  return `${sign}${value.toFixed(digits)} ${units[unit]}`;
}

/** signed writes a difference with its sign. */
export const signed = (n: number, write: (n: number) => string): string =>
  n > 0 ? `+${write(n)}` : n < 0 ? `−${write(-n)}` : "0";

export const percent = (share: number): string => {
  const p = share * 100;
  if (p > 0 && p < 0.1) return "< 0.1 %";
  if (p >= 99.5 && p < 100) return "> 99 %"; // 100 % is all
  return `${p < 10 ? p.toFixed(1) : Math.round(p)} %`;
};

const steps: [number, string][] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
  [1, "s"],
];

/** duration writes the two largest units of seconds. */
export function duration(seconds: number): string {
  if (seconds < 1) return `${Math.max(0, Math.round(seconds * 1000))} ms`;
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`;
  const at = steps.findIndex(([size]) => seconds >= size);
  const [size, unit] = steps[at]!;
  const first = Math.floor(seconds / size);
  const next = steps[at + 1];
  if (!next || first >= 10) return `${first} ${unit}`;
  const rest = Math.floor((seconds - first * size) / next[0]);
  return rest ? `${first} ${unit} ${rest} ${next[1]}` : `${first} ${unit}`;
}

/** ago writes how long a moment is past. */
export function ago(at: string, now: number): string {
  const seconds = (now - Date.parse(at)) / 1000;
  if (Number.isNaN(seconds)) return at;
  if (seconds < 5) return "just now";
  const [size, unit] = steps.find(([s]) => seconds >= s) ?? steps[3]!;
  return `${Math.floor(seconds / size)} ${unit} ago`;
}

export const moment = (at: string | number): string => when.format(new Date(at));

export const plural = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`;

/** rate writes how many more there are a minute. */
export function rate(more: number, seconds: number): string {
  const each = (more / seconds) * 60;
  return `${each < 10 ? each.toFixed(1) : brief(Math.round(each))}/min`;
}
