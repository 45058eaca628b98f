// google.api.field_behavior (AIP-203), as requests are read by it: what the service sets, and what is set once, is
// refused and not ignored. A client that thinks it made itself an administrator should hear that it did not.
import { type DescField, type DescMessage, getOption, hasOption, type Message } from "@bufbuild/protobuf"
import { isReflectMessage, type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect"
import { Refused } from "@signet/kernel/errors"
import { FieldBehavior, field_behavior } from "@signet/proto/google/api/field_behavior"

/** What a request does with the message: an update may not set what is IMMUTABLE either. */
export type Use = "create" | "update"

/** True when callers may not set the field in such a request. */
export function isClosed(field: DescField, use: Use): boolean {
  const behaviors = hasOption(field, field_behavior) ? getOption(field, field_behavior) : []
  return (
    behaviors.includes(FieldBehavior.OUTPUT_ONLY) || (use === "update" && behaviors.includes(FieldBehavior.IMMUTABLE))
  )
}

/**
 * Refuses a message in which something is set that callers may not set, at any depth.
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
