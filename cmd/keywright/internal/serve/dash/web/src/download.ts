// A table as a file, where the API has none of its own.

// A spreadsheet would take these for formulas.
const formula = /^[=+\-@\t\r]/;

function cell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const text = formula.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const csv = (rows: (string | number)[][]): string => rows.map((r) => r.map(cell).join(",")).join("\r\n") + "\r\n";

/** save hands rows to the browser as a file. */
export function save(name: string, rows: (string | number)[][]): void {
  const address = URL.createObjectURL(new Blob([csv(rows)], { type: "text/csv" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `${name}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
