// All columns that are sealed under the service's sealing key, with the label of each row. A rotation re-seals exactly
// these. Only this file creates labels, so sealing anything else does not compile.
import type { ProviderAccountId, ProviderClientId } from "../ids.ts"
import type { KeyPurpose } from "./purposes.ts"

declare const brand: unique symbol
/** Associated data of a sealed value: it opens only in its own row and column. */
export type SealedLabel = string & { readonly [brand]: "SealedLabel" }

const label = (text: string): SealedLabel => text as SealedLabel

/**
 * "service": sealed with the sealing key itself. "audit": data keys of the audit log, sealed with a key derived from
 * it.
 */
export type SealingScheme = "service" | "audit"

export const clientSecretLabel = (id: ProviderClientId): SealedLabel => label(`provider-client-secret|${id}`)

/** Label of a client's HS256 project secret. */
export const tokenSecretLabel = (id: ProviderClientId): SealedLabel => label(`provider-token-secret|${id}`)

/** Label of an account's refresh token at the provider. */
export const providerTokenLabel = (id: ProviderAccountId): SealedLabel => label(`provider-refresh-token|${id}`)

/** ACCESS keys were stored before purposes existed, so their label has none. */
export const signingKeyLabel = ({ kid, purpose }: { kid: string; purpose: KeyPurpose }): SealedLabel =>
  label(purpose === "ACCESS" ? `signing-key|${kid}` : `signing-key|${purpose}|${kid}`)

export const issuerKeyLabel = ({ purpose, generation }: { purpose: string; generation: number }): SealedLabel =>
  label(`issuer-key|${purpose}|${generation}`)

/** Label of an owner's audit data key. */
export const dataKeyLabel = (owner: string): SealedLabel => label(`audit-data-key|${owner}`)

/**
 * Label of an earlier sealing key's stamp key. It includes the status, so a copy from before the key was retired no
 * longer opens.
 */
export const stampKeyLabel = ({ id, status }: { id: string; status: string }): SealedLabel =>
  label(`audit-stamp-key|${status}|${id}`)

/** Label of a sign-in transaction. Its client stores it for ten minutes, so no rotation re-seals it. */
export const transactionLabel: SealedLabel = label("sign-in-transaction")

export interface SealedColumn {
  readonly table: string
  readonly column: string
  readonly scheme: SealingScheme
  /** Columns of the primary key, in order. */
  readonly key: readonly string[]
  /** Further columns that the label uses. */
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

/** Columns that are sealed under other keys, so a rotation leaves them unchanged. */
export const sealedElsewhere: readonly string[] = [
  // Sealed under the old refresh token and its retry key, which only the client has.
  "refresh_token.successor_sealed",
  // Sealed under the owner's data key in audit_data_key.
  "audit_event.personal_sealed",
]
