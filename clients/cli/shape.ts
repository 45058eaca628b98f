import type { DescEnum } from "@bufbuild/protobuf"
// How fields of messages are shown to people.
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt"

/** The time to the second, in the user's time zone; empty for none. */
export function timeText(at: Timestamp | undefined): string {
  if (at === undefined) return ""
  return dateText(timestampDate(at))
}

export function dateText(date: Date): string {
  const two = (number: number) => String(number).padStart(2, "0")
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** An enum value's name in lower case. */
export const nameIn = (schema: DescEnum, value: number): string =>
  (schema.value[value]?.name ?? String(value)).toLowerCase().replaceAll("_", "-")

/** The value of such a name; undefined for an unknown name. */
export const valueIn = <E extends number>(values: Readonly<Record<string, E>>, name: string): E | undefined =>
  Object.entries(values).find(([key]) => key === name.toUpperCase().replaceAll("-", "_"))?.[1]
