import { administrationMutants } from "./administration.ts"
import { attachmentMutants } from "./attachments.ts"
import { canonicalMutants } from "./canonical.ts"
import { conversationMutants } from "./conversations.ts"
import { deviceMutants } from "./devices.ts"
import { engineMutants } from "./engine.ts"
import { framingMutants } from "./framing.ts"
import { idpBMutants } from "./idp-b.ts"
import { idpCMutants } from "./idp-c.ts"
import { messagingStoreMutants } from "./messaging-store.ts"
import type { Mutant } from "./mutant.ts"
import { signInMutants } from "./sign-in.ts"

export const mutants: readonly Mutant[] = [
  ...engineMutants,
  ...canonicalMutants,
  ...framingMutants,
  ...idpBMutants,
  ...idpCMutants,
  ...signInMutants,
  ...deviceMutants,
  ...conversationMutants,
  ...messagingStoreMutants,
  ...administrationMutants,
  ...attachmentMutants,
]
