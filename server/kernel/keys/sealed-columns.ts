// Every column that is sealed under the service's sealing key, and the label of each row: a rotation re-seals these columns
// and no others. A label is made here alone, so what is sealed elsewhere does not compile.
import type { ProviderAccountId, ProviderClientId } from "../ids.ts"
import type { KeyPurpose } from "./purposes.ts"

declare const brand: unique symbol
/** The associated data of what is sealed: it opens in its own row and column alone. */
export type SealedLabel = string & { readonly [brand]: "SealedLabel" }

const label = (text: string): SealedLabel => text as SealedLabel

/** The service seals with the sealing key itself, and the audit's data keys with a key that is derived from it. */
export type SealingScheme = "service" | "audit"

export const clientSecretLabel = (id: ProviderClientId): SealedLabel => label(`provider-client-secret|${id}`)

/** Of the HS256 secret of a client's project. */
export const tokenSecretLabel = (id: ProviderClientId): SealedLabel => label(`provider-token-secret|${id}`)

/** Of the provider's refresh token of an account. */
export const providerTokenLabel = (id: ProviderAccountId): SealedLabel => label(`provider-refresh-token|${id}`)

/** Access keys are older than purposes. */
export const signingKeyLabel = ({ kid, purpose }: { kid: string; purpose: KeyPurpose }): SealedLabel =>
  label(purpose === "ACCESS" ? `signing-key|${kid}` : `signing-key|${purpose}|${kid}`)

export const issuerKeyLabel = ({ purpose, generation }: { purpose: string; generation: number }): SealedLabel =>
  label(`issuer-key|${purpose}|${generation}`)

/** Of the key that seals a person's fields of the audit. */
export const dataKeyLabel = (owner: string): SealedLabel => label(`audit-data-key|${owner}`)

/** Of the stamp key of an earlier sealing key. With its status: what was stored before the key's end opens after it no more. */
export const stampKeyLabel = ({ id, status }: { id: string; status: string }): SealedLabel =>
  label(`audit-stamp-key|${status}|${id}`)

/** A sign-in transaction, which its client holds for ten minutes: no column, so nothing seals it again. */
export const transactionLabel: SealedLabel = label("sign-in-transaction")

export interface SealedColumn {
  readonly table: string
  readonly column: string
  readonly scheme: SealingScheme
  /** The primary key, in order. */
  readonly key: readonly string[]
  /** Columns that the label names beside the key. */
  readonly also: readonly string[]
  labelOf(row: Readonly<Record<string, unknown>>): SealedLabel
}

function column<Name extends string>(of: {
  readonly at: readonly [table: string, column: string]
  readonly scheme?: SealingScheme
  readonly key: readonly Name[]
  readonly also?: readonly Name[]
  readonly labelOf: (row: Readonly<Record<NoInfer<Name>, never>>) => SealedLabel
}): SealedColumn {
  const { at, scheme = "service", key, also = [], labelOf } = of
  return { table: at[0], column: at[1], scheme, key, also, labelOf: (row) => labelOf(row as Record<Name, never>) }
}

export const sealedColumns: readonly SealedColumn[] = [
  column({ at: ["provider_client", "client_secret_sealed"], key: ["id"], labelOf: ({ id }) => clientSecretLabel(id) }),
  column({ at: ["provider_client", "token_secret_sealed"], key: ["id"], labelOf: ({ id }) => tokenSecretLabel(id) }),
  column({
    at: ["provider_account", "refresh_token_sealed"],
    key: ["id"],
    labelOf: ({ id }) => providerTokenLabel(id),
  }),
  column({ at: ["signing_key", "private_sealed"], key: ["kid"], also: ["purpose"], labelOf: signingKeyLabel }),
  column({ at: ["issuer_key", "private_sealed"], key: ["purpose", "generation"], labelOf: issuerKeyLabel }),
  column({
    at: ["audit_data_key", "key_sealed"],
    scheme: "audit",
    key: ["owner"],
    labelOf: ({ owner }) => dataKeyLabel(owner),
  }),
  column({ at: ["sealing_key", "stamp_sealed"], key: ["id"], also: ["status"], labelOf: stampKeyLabel }),
]

/** Columns that are sealed under another key than the service's, and so outlive a rotation as they are. */
export const sealedElsewhere: readonly string[] = [
  // Under the old refresh token and its retry key, which only the client has.
  "refresh_token.successor_sealed",
  // Under the owner's key, which is in audit_data_key.
  "audit_event.personal_sealed",
]
