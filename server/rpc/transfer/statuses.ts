import { Refused } from "@signet/kernel/errors"
import { AttachmentStatus, KeyPackageStatus, WelcomeStatus } from "@signet/proto/transfer/v1/records"

/** The name with this number. @throws Refused INVALID_FIELD for an unknown number. */
export function named<Name extends string>(
  names: readonly Name[],
  numbers: Readonly<{ [N in Name]: number }>,
  number: number,
): Name {
  const found = names.find((name) => numbers[name] === number)
  if (found === undefined) throw new Refused("INVALID_FIELD", { metadata: { field: "records" } })
  return found
}

export const keyPackageStatusOf = (status: KeyPackageStatus) =>
  named(["AVAILABLE", "CLAIMED", "RETIRED"], KeyPackageStatus, status)
export const welcomeStatusOf = (status: WelcomeStatus) => named(["PENDING", "CONSUMED", "VOID"], WelcomeStatus, status)
export const attachmentStatusOf = (status: AttachmentStatus) =>
  named(["UPLOADING", "COMPLETE", "DELETED"], AttachmentStatus, status)
