// The one row of a store that is not sealed: it names the owner and the key that seals the others. Every field is checked
// before it is used, because anybody with access to the disk can change it.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { equalBytes } from "@signet/canonical/bytes"
import { issuerIdOf } from "@signet/canonical/hash"
import { type StoreHeader, StoreHeaderSchema } from "@signet/proto/client/v1/records"
import type { SecretBox } from "../../secret-box.ts"
import { credentialBody } from "../checks/credential.ts"
import { MessagingError } from "../errors.ts"
import type { MessengerOptions } from "../messenger.ts"
import { issuerIn, type Owner } from "../session.ts"
import { deviceSpace } from "./store.ts"

const place = { table: "header", key: "store" } as const
const formatVersion = 1
const storeIdBytes = 16

type Needs = Pick<MessengerOptions, "store" | "secretBox" | "session" | "random">

/**
 * Reads the header, or writes it once.
 *
 * @throws MessagingError STATE_TAMPERED, STATE_NEWER_VERSION, WRONG_USER, SECURE_STORE_CHANGED; ANSWER_REFUSED for a token
 *   that names no issuer
 */
export async function openHeader({ store, secretBox, session, random }: Needs, owner: Owner): Promise<StoreHeader> {
  for (;;) {
    const { generation, values } = await store.read(deviceSpace, [place])
    const [found] = values
    if (found !== undefined) return checkHeader(decodeHeader(found), secretBox, owner)
    const issuer = issuerIn(await session.accessToken())
    if (issuer === undefined) throw new MessagingError("ANSWER_REFUSED", "the access token names no issuer")
    const header = create(StoreHeaderSchema, {
      formatVersion,
      storeId: random.bytes(storeIdBytes),
      boxBackend: secretBox.describe().backend,
      appId: owner.appId,
      tenantId: owner.tenantId ?? "",
      userId: owner.userId,
      issuer,
    })
    const op = { op: "create", ...place, value: toBinary(StoreHeaderSchema, header) } as const
    if ((await store.transact(deviceSpace, generation, [op])) === "ok") return header
  }
}

function decodeHeader(bytes: Uint8Array): StoreHeader {
  try {
    return fromBinary(StoreHeaderSchema, bytes)
  } catch (cause) {
    throw tampered("it does not decode", cause)
  }
}

function checkHeader(header: StoreHeader, box: SecretBox, owner: Owner): StoreHeader {
  if (header.formatVersion > formatVersion)
    throw new MessagingError("STATE_NEWER_VERSION", "a later version wrote this store")
  if (header.formatVersion !== formatVersion) throw tampered("format_version is not 1")
  if (header.$unknown !== undefined) throw tampered("it has an unknown field")
  if (header.storeId.length !== storeIdBytes) throw tampered("store_id is not 16 bytes long")
  if (header.issuer === "") throw tampered("issuer is empty")
  const isTheirs =
    header.userId === owner.userId && header.appId === owner.appId && header.tenantId === (owner.tenantId ?? "")
  if (!isTheirs) throw new MessagingError("WRONG_USER", "the store belongs to another user, app or tenant")
  if (header.boxBackend !== box.describe().backend) {
    throw new MessagingError("SECURE_STORE_CHANGED", "another secret box sealed this store")
  }
  return header
}

/** Checks the issuer against the device's credential, which is sealed. @throws MessagingError STATE_TAMPERED */
export function checkIssuer({ issuer }: Pick<StoreHeader, "issuer">, credential: Uint8Array): void {
  const isIssuers = equalBytes(credentialBody(credential).issuerId, issuerIdOf(issuer))
  if (!isIssuers) throw tampered("issuer did not issue the device's credential")
}

const tampered = (rule: string, cause?: unknown): MessagingError =>
  new MessagingError("STATE_TAMPERED", `the store's header was changed: ${rule}`, { cause })
