// Reason.java: what the kernel's table of refusals says, for the guard in Java.
import { type Reason, refusals } from "@signet/kernel/errors"

/** The source text of dev.signet.guard.Reason. */
export function reasonsText(): string {
  const entries = (Object.keys(refusals) as Reason[]).map((reason) => {
    const { code, status, message } = refusals[reason]
    const parts = [`"${code}"`, status, JSON.stringify(message)]
    const line = `  ${reason}(${parts.join(", ")})`
    // 120 with what follows it.
    return line.length < 120 ? line : `  ${reason}(\n      ${parts.join(",\n      ")})`
  })
  return `package dev.signet.guard;

/**
 * Why something is refused: the same name on every transport. docs/reference/errors.md says what to do about each.
 * test/interop/guard-java/write-reasons.ts writes this file from the issuer's own table.
 */
public enum Reason {
${entries.join(",\n")};

  private final String code;
  private final int status;
  private final String message;

  Reason(String code, int status, String message) {
    this.code = code;
    this.status = status;
    this.message = message;
  }

  /** The canonical status code, by its name in Connect. */
  public String code() {
    return code;
  }

  /** The HTTP status. */
  public int status() {
    return status;
  }

  /** A sentence that may be shown to the caller: no secret, and nothing of other tenants. */
  public String message() {
    return message;
  }
}
`
}
