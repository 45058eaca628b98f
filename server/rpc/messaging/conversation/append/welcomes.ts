// Verifies the claim tickets of added devices, and splits the Welcome by recipient.
import { equalBytes, toHex } from "@signet/canonical/bytes"
import { verifyClaimTicket } from "@signet/canonical/claim-ticket"
import { Refused } from "@signet/kernel/errors"
import { idBytes } from "@signet/kernel/ids"
import { maxBytes } from "@signet/kernel/messaging/limits"
import type { SplitWelcome } from "@signet/kernel/messaging/verified"
import { welcomeExpiry } from "@signet/kernel/messaging/welcome"
import { splitWelcome } from "../../../../framing/welcome.ts"
import { readMls } from "../../refusing.ts"
import type { AddedLeaf } from "./change.ts"
import { type CallJudge, expectedOf, type Judge } from "./judge.ts"
import { judging } from "./refusing.ts"

/**
 * Verifies that the caller claimed every package for this conversation from that device. The package's signatures were
 * verified at its upload.
 *
 * @throws Refused KEY_PACKAGE_NOT_CLAIMED
 */
export function checkTickets(judge: Judge, added: readonly AddedLeaf[], tickets: readonly Uint8Array[]): void {
  if (added.length === 0) return
  const expected = { ...expectedOf(judge), requesterDeviceId: idBytes(judge.device.id) }
  const packages = tickets.flatMap((ticket) => judging(() => verifyClaimTicket(ticket, expected)).packages)
  const claimed = new Map(packages.map((one) => [toHex(one.keyPackageRef), one]))
  for (const { keyPackageRef, deviceId, credentialHash } of added) {
    const ticket = claimed.get(toHex(keyPackageRef))
    const isClaimed =
      ticket !== undefined &&
      equalBytes(ticket.deviceId, idBytes(deviceId)) &&
      equalBytes(ticket.credentialHash, credentialHash)
    if (!isClaimed) throw new Refused("KEY_PACKAGE_NOT_CLAIMED")
  }
}

/**
 * Splits the Welcome: one for each added device, and none for any other.
 *
 * @throws Refused WELCOME_RECIPIENT_MISMATCH, MLS_*, LIMIT_EXCEEDED
 */
export function welcomesFor(
  judge: CallJudge,
  added: readonly AddedLeaf[],
  welcome: Uint8Array,
): readonly SplitWelcome[] {
  if ((added.length === 0) !== (welcome.length === 0)) throw new Refused("WELCOME_RECIPIENT_MISMATCH")
  if (added.length === 0) return []
  const isWhole = welcome.length > maxBytes.welcome
  const limit = isWhole
    ? (["welcome_bytes", maxBytes.welcome] as const)
    : (["welcome_recipient_bytes", maxBytes.welcomeRecipient] as const)
  const parts = readMls(limit, () => splitWelcome(welcome, maxBytes.welcome, maxBytes.welcomeRecipient))
  if (parts.size !== added.length) throw new Refused("WELCOME_RECIPIENT_MISMATCH")
  return added.map(({ deviceId, keyPackageRef, keyPackage }) => {
    const part = parts.get(toHex(keyPackageRef))
    if (part === undefined) throw new Refused("WELCOME_RECIPIENT_MISMATCH")
    return {
      id: judge.newWelcomeId(),
      deviceId,
      keyPackageRef,
      welcome: part,
      expiresAtMs: welcomeExpiry(Number(keyPackage.notAfter) * 1_000),
    }
  })
}
