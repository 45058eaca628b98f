// The tables of keys, as kysely sees them.

import type { IssuerKeyRecord } from "@signet/kernel/keys/issuer-keys"
import type { SealingKeyRecord } from "@signet/kernel/keys/sealing"

export interface SealingTables {
  sealing_key: SealingKeyTable
  sealing_key_holder: { process: string; key_ids: readonly string[]; seals_with: string; seen_at: Date }
}

export interface SealingKeyTable {
  id: string
  status: SealingKeyRecord["status"]
  created_at: Date
  resealed_at: Date | null
  stamp_sealed: Uint8Array | null
}

export interface IssuerKeyTable {
  purpose: IssuerKeyRecord["purpose"]
  generation: number
  public_key: Uint8Array
  private_sealed: Uint8Array
  created_at: Date
}

export interface ReceiptKeyTable {
  public_key: Uint8Array
  name: string
  created_at: Date
}
