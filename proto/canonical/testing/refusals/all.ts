import { credentialRefusals } from "./credential.ts"
import { deviceProofRefusals, requestRefusals } from "./device.ts"
import { issuerKeysRefusals } from "./issuer-keys.ts"
import { listRefusals } from "./list.ts"
import { proofRefusals } from "./proof.ts"
import { receiptRefusals } from "./receipt.ts"
import type { Refusal } from "./refusal.ts"
import { ticketRefusals } from "./ticket.ts"

/** Every row of every kind. */
export const refusals: readonly Refusal[] = [
  ...issuerKeysRefusals,
  ...credentialRefusals,
  ...proofRefusals,
  ...receiptRefusals,
  ...ticketRefusals,
  ...listRefusals,
  ...requestRefusals,
  ...deviceProofRefusals,
]
