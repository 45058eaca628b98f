// The shared state of a test device's parts.
import type { IssuerKeys } from "@signet/canonical/issuer-keys"
import type { Identity, NewKeyPackage } from "../../../clients/core/messaging/mls.ts"
import type { Credentials, MessagingCalls } from "./calls.ts"
import type { LeafKey, Place } from "./device-parts.ts"
import type { Room } from "./room.ts"
import type { SignedIn } from "./world.ts"

export interface Own {
  readonly session: SignedIn
  readonly credentials: Credentials
  readonly calls: MessagingCalls
  readonly userId: string
  readonly place: Place
  readonly issuerKeys: IssuerKeys
  /** `dev_…`; empty before registration. */
  id: string
  key: LeafKey
  identity: Identity
  readonly rooms: Map<string, Room>
  /** Secrets of key packages, by reference in hexadecimal. */
  readonly packages: Map<string, NewKeyPackage>
}
