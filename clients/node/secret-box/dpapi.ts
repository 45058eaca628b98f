// Windows data protection (DPAPI): the system encrypts a few bytes under keys of the signed-in user.
import { createHash } from "node:crypto"
import { homedir } from "node:os"
import { join } from "node:path"
import { type ByteStorage, SecretBoxError, type SecretScope } from "@signet/client"
import { scopeText } from "../../core/platform.ts"
import { createFileStorage } from "../file-storage.ts"
import type { Keeper } from "./kept-box.ts"
import { type PowershellOptions, powershell } from "./powershell.ts"

export interface DpapiOptions extends PowershellOptions {
  /** The store of the wrapped bytes. Default: a folder in the user's local application data, which does not roam. */
  readonly storage?: ByteStorage
}

/**
 * Reads lines from standard input: operation, hash of the scope, bytes; each in base64. The scope is the optional
 * entropy, so wrapped bytes open only for their scope. Calls .NET and no cmdlets, because cmdlets are loaded by a path
 * that an attacker may have changed. Writes to the stream and not to the host, so that transcripts do not contain it.
 */
const script = `
$ErrorActionPreference = 'Stop'
if ($ExecutionContext.SessionState.LanguageMode -ne 'FullLanguage') { 'signet-constrained'; exit 3 }
try {
  [void][Reflection.Assembly]::LoadWithPartialName('System.Security')
  $what = [Console]::In.ReadLine()
  $entropy = [Convert]::FromBase64String([Console]::In.ReadLine())
  $data = [Convert]::FromBase64String([Console]::In.ReadLine())
  $user = [Security.Cryptography.DataProtectionScope]::CurrentUser
  if ($what -ceq 'protect') { $made = [Security.Cryptography.ProtectedData]::Protect($data, $entropy, $user) }
  elseif ($what -ceq 'unprotect') { $made = [Security.Cryptography.ProtectedData]::Unprotect($data, $entropy, $user) }
  else { exit 2 }
  [Array]::Clear($data, 0, $data.Length)
  [Console]::Out.Write('signet-ok ' + [Convert]::ToBase64String($made))
  [Array]::Clear($made, 0, $made.Length)
  exit 0
} catch {
  $error0 = $_.Exception
  while ($error0.InnerException) { $error0 = $error0.InnerException }
  [Console]::Out.Write('signet-failed ' + $error0.HResult)
  exit 1
}
`

/** @throws SecretBoxError for DPAPI's refusals and every other result of PowerShell. */
export function dpapiKeeper(options: DpapiOptions = {}): Keeper {
  const storage = options.storage ?? createFileStorage(join(homedir(), "AppData", "Local", "signet", "keys"))
  return {
    async read(scope) {
      const kept = await storage.read(nameOf(scope))
      return kept && call("unprotect", scope, kept.bytes)
    },
    // PowerShell takes a second to start. The file is read for each use, so changes by others are seen.
    async stamp(scope) {
      const kept = await storage.read(nameOf(scope))
      return kept && createHash("sha256").update(kept.bytes).digest("hex")
    },
    async write(scope, bytes) {
      const wrapped = await call("protect", scope, bytes)
      // The box holds its lock since its read, so any revision may be replaced.
      await storage.write(nameOf(scope), wrapped, "any")
    },
    async remove(scope) {
      await storage.remove(nameOf(scope), "any")
    },
  }

  async function call(what: "protect" | "unprotect", scope: SecretScope, bytes: Uint8Array): Promise<Uint8Array> {
    const entropy = createHash("sha256")
      .update(`signet dpapi v1\0${scopeText(scope)}`)
      .digest("base64")
    const output = await powershell(script, `${what}\n${entropy}\n${base64(bytes)}\n`, options)
    const [, word, value = ""] = /^signet-(ok|failed|constrained) ?([A-Za-z0-9+/=-]*)\s*$/.exec(output) ?? []
    switch (word) {
      case "ok":
        return parse(value)
      case "failed":
        throw refusal(Number(value))
      case "constrained":
        throw unavailable("PowerShell is locked down on this machine (constrained language mode)")
      default:
        throw unavailable("PowerShell returned unexpected output")
    }
  }
}

const nameOf = (scope: SecretScope): string => `dpapi ${scopeText(scope)}`
const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64")

function parse(value: string): Uint8Array {
  const bytes = Buffer.from(value, "base64")
  if (bytes.length === 0 || bytes.toString("base64") !== value)
    throw unavailable("PowerShell returned incomplete bytes")
  return Uint8Array.from(bytes)
}

/** NTE_BAD_KEY_STATE: the bytes are under a key that this user lacks. */
const badKeyState = 0x8009000b | 0
/** ERROR_INVALID_DATA: changed bytes, or those of another scope. */
const invalidData = 0x8007000d | 0

function refusal(hresult: number): SecretBoxError {
  switch (hresult) {
    case badKeyState:
      return new SecretBoxError(
        "WRONG_USER",
        "the key was protected by another Windows user, or before an administrator reset the password",
      )
    case invalidData:
      return new SecretBoxError(
        "STATE_TAMPERED",
        "the bytes that Windows protected were changed, or belong to another scope",
      )
    default:
      return unavailable(`Windows data protection refused (${hresult})`)
  }
}

const unavailable = (message: string) => new SecretBoxError("SECURE_STORE_UNAVAILABLE", message)
