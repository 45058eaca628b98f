// Field masks of updates (AIP-134, AIP-161). Paths lead through singular messages only, and never end in "*".
import { clone, type DescField, type DescMessage, type MessageShape } from "@bufbuild/protobuf"
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect"
import type { FieldMask } from "@bufbuild/protobuf/wkt"
import { Refused } from "@signet/kernel/errors"
import { shown } from "../serving/wire/strict-json.ts"
import { isClosed, refuseClosed } from "./field-behavior.ts"

/** A change as a request states it. */
export interface Change<Desc extends DescMessage> {
  readonly desc: Desc
  /** The new values. */
  readonly values: MessageShape<Desc>
  /** The fields that change; without a mask, the fields that are set. */
  readonly mask: FieldMask | undefined
  /** The proto path of the values in the request. */
  readonly path: string
}

/**
 * Applies the change to the message.
 *
 * @returns The changed message, and the changed paths: for values that `current` does not contain, such as secrets.
 * @throws Refused INVALID_FIELD for an unknown path, OUTPUT_ONLY_FIELD for a path that callers may not set.
 */
export function changed<Desc extends DescMessage>(
  current: MessageShape<Desc>,
  { desc, values, mask, path }: Change<Desc>,
): { message: MessageShape<Desc>; paths: ReadonlySet<string> } {
  refuseClosed(desc, values, "update", path)
  const from = reflect(desc, values)
  const named = new Set(mask?.paths)
  const ways = named.size === 0 ? setIn(from) : [...named].map((text) => wayOf(desc, text, path))
  const message = clone(desc, current)
  const to = reflect(desc, message)
  for (const way of ways) assign(to, from, way)
  return { message, paths: new Set(ways.map((way) => way.map(({ name }) => name).join("."))) }
}

type Way = readonly DescField[]

/** Resolves a path to its fields. @throws Refused INVALID_FIELD */
function wayOf(desc: DescMessage, text: string, path: string): Way {
  const way: DescField[] = []
  let inside: DescMessage | undefined = desc
  for (const name of text.split(".")) {
    const field: DescField | undefined = inside?.fields.find((each) => each.name === name)
    if (field === undefined) {
      throw new Refused("INVALID_FIELD", {
        message: "update_mask has an unknown field",
        metadata: { field: "update_mask", path: shown(text) },
      })
    }
    way.push(field)
    if (isClosed(field, "update")) {
      throw new Refused("OUTPUT_ONLY_FIELD", {
        metadata: { field: `${path}.${way.map((each) => each.name).join(".")}` },
      })
    }
    inside = isOpen(field) ? field.message : undefined
  }
  return way
}

/** True for a message field into which a path may lead. */
const isOpen = (field: DescField): boolean =>
  field.fieldKind === "message" && !field.message.typeName.startsWith("google.protobuf.")

/** The paths of all set fields, recursively. */
function setIn(message: ReflectMessage): Way[] {
  return message.sortedFields
    .filter((field) => message.isSet(field))
    .flatMap((field): Way[] => {
      if (field.fieldKind !== "message" || !isOpen(field)) return [[field]]
      return setIn(message.get(field)).map((rest) => [field, ...rest])
    })
}

function assign(to: ReflectMessage, from: ReflectMessage, way: Way): void {
  const [field, ...rest] = way
  if (field === undefined) return
  if (rest.length === 0 || field.fieldKind !== "message") {
    if (from.isSet(field)) to.set(field, from.get(field))
    else to.clear(field)
    return
  }
  // An absent message is empty; the first field that is set creates it.
  const inner = to.get(field)
  assign(inner, from.get(field), rest)
  to.set(field, inner)
}
