import type { DescEnum } from "@bufbuild/protobuf"
// How fields of messages are shown to people.
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt"

/** To the second, in the person's own time; empty for none. */
export function timeText(at: Timestamp | undefined): string {
  if (at === undefined) return ""
  return dateText(timestampDate(at))
}

export function dateText(date: Date): string {
  const two = (number: number) => String(number).padStart(2, "0")
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** The name of a value of an enum, in lower case. */
export const nameIn = (schema: DescEnum, value: number): string =>
  (schema.value[value]?.name ?? String(value)).toLowerCase().replaceAll("_", "-")

/** The value of such a name; undefined when there is none. */
export const valueIn = <E extends number>(values: Readonly<Record<string, E>>, name: string): E | undefined =>
  Object.entries(values).find(([key]) => key === name.toUpperCase().replaceAll("-", "_"))?.[1]
