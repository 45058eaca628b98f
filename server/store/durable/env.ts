// The objects of the store, and the types of their calls.
import type { AttachmentObject } from "./attachment/object.ts"
import type { ConversationObject } from "./conversation/object.ts"
import type { DeviceObject } from "./device/object.ts"
import type { NameObject } from "./name/object.ts"
import type { PlaceObject } from "./place/object.ts"
import type { UserObject } from "./user/object.ts"

/**
 * An object's methods as its callers see them: every answer is a promise. Arguments and answers are structured clones.
 */
export type Calls<Stored> = {
  readonly [Name in Exclude<keyof Stored, "alarm" | "fetch" | symbol>]: Stored[Name] extends (
    ...args: infer Args
  ) => infer Answer
    ? (...args: Args) => Promise<Awaited<Answer>>
    : never
} & { fetch(request: Request): Promise<Response> }

/** A namespace of objects, each with a name. */
export interface Objects<Stored> {
  getByName(name: string): Calls<Stored>
}

export interface DurableEnv {
  /** By conversation id. */
  readonly CONVERSATIONS: Objects<ConversationObject>
  /** By device id. */
  readonly DEVICES: Objects<DeviceObject>
  /** `app/tenant/user`; without a tenant `app//user`. */
  readonly USERS: Objects<UserObject>
  /** `key/<hex>` for a leaf key, `pair/app/tenant/userA/userB` for two users. */
  readonly NAMES: Objects<NameObject>
  /** By attachment id. */
  readonly ATTACHMENTS: Objects<AttachmentObject>
  /** `app/tenant`; without a tenant `app/`. */
  readonly PLACES: Objects<PlaceObject>
}
