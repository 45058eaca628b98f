import { type AppId, type ContextId, parseId, type TenantId } from "@signet/kernel/ids"
import type { Device, Membership, Platform, Provider } from "@signet/kernel/records"
import type {
  ConfirmMagicLinkRequest,
  EmailPasswordLoginRequest,
  ExternalLoginRequest,
} from "@signet/proto/auth/v1/auth_service"
import { platformOf } from "../../parse.ts"
import type { Proof } from "./proof.ts"

/** Selects the provider client of a sign-in. */
export interface Way {
  appId: AppId
  provider: Provider
  platform: Platform
  /** Empty if the request names none. */
  connection: string
}

export interface SignInRequest extends Way {
  proof: Proof
  audiences: readonly string[]
  tenantId: TenantId | null
  contextId: ContextId | null
  device: Device
  cookieMode: boolean
  /** Profile data from the client, unverified: stored only in a new membership. */
  hints: Membership["profile"]
  /** Empty for none. */
  invitationCode: string
  cancelDeletion: boolean
}

/** The fields that the requests of all sign-in methods share. */
export function commonOf(
  request: ExternalLoginRequest | EmailPasswordLoginRequest | ConfirmMagicLinkRequest,
): Omit<SignInRequest, "appId" | "provider" | "connection" | "proof" | "hints"> {
  const { deviceId = "", label = "", os = "", appVersion = "" } = request.device ?? {}
  return {
    platform: platformOf(request.platform),
    audiences: request.audiences,
    tenantId: parseId("ten", request.tenantId) ?? null,
    contextId: parseId("ctx", request.contextId) ?? null,
    device: { deviceId, label, os, appVersion },
    cookieMode: request.cookieMode,
    invitationCode: request.invitationCode,
    cancelDeletion: request.cancelDeletion,
  }
}
