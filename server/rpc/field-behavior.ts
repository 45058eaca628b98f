// Enforces google.api.field_behavior (AIP-203) on requests. A set OUTPUT_ONLY or IMMUTABLE field is refused, not
// ignored, so a client learns that its change was not made.
import { type DescField, type DescMessage, getOption, hasOption, type Message } from "@bufbuild/protobuf"
import { isReflectMessage, type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect"
import { Refused } from "@signet/kernel/errors"
import { FieldBehavior, field_behavior } from "@signet/proto/google/api/field_behavior"

/** How a request uses the message: an update may set no IMMUTABLE field either. */
export type Use = "create" | "update"

/** True when callers may not set the field in such a request. A record has no etag (AIP-154) before it is created. */
export function isClosed(field: DescField, use: Use): boolean {
  const behaviors = hasOption(field, field_behavior) ? getOption(field, field_behavior) : []
  return (
    behaviors.includes(FieldBehavior.OUTPUT_ONLY) ||
    (use === "update" ? behaviors.includes(FieldBehavior.IMMUTABLE) : field.name === "etag")
  )
}

/**
 * Refuses a message that sets a field which callers may not set, at any depth.
 *
 * @param path The proto path of the message in the request.
 * @throws Refused OUTPUT_ONLY_FIELD, with the field.
 */
export function refuseClosed(desc: DescMessage, message: Message, use: Use, path: string): void {
  refuseClosedIn(reflect(desc, message), use, path)
}

function refuseClosedIn(message: ReflectMessage, use: Use, path: string): void {
  for (const field of message.sortedFields) {
    if (!message.isSet(field)) continue
    const at = `${path}.${field.name}`
    if (isClosed(field, use)) throw new Refused("OUTPUT_ONLY_FIELD", { metadata: { field: at } })
    if (field.fieldKind === "message") refuseClosedIn(message.get(field), use, at)
    if (field.fieldKind === "list" && field.listKind === "message") {
      for (const [index, item] of [...message.get(field)].entries()) {
        if (isReflectMessage(item)) refuseClosedIn(item, use, `${at}[${index}]`)
      }
    }
  }
}
