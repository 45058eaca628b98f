import { spawn } from "node:child_process"
import { SecretBoxError } from "@signet/client"

export interface PowershellOptions {
  /** The absolute path of Windows PowerShell: a bare name would be searched in the current folder. */
  readonly program?: string
  /** The process is killed after this time. A cold start takes some seconds. Milliseconds. */
  readonly timeoutMs?: number
}

const defaultProgram = String.raw`C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe`
const maxOutputBytes = 64 * 1_024

/**
 * Runs a script without profile, window or prompts.
 *
 * @param input Standard input: others can read command lines.
 * @returns The output, at most 64 KiB; the exit code is ignored.
 * @throws SecretBoxError SECURE_STORE_UNAVAILABLE without PowerShell, or on timeout.
 */
export function powershell(
  script: string,
  input: string,
  { program = defaultProgram, timeoutMs = 30_000 }: PowershellOptions,
): Promise<string> {
  const encoded = Buffer.from(script, "utf16le").toString("base64")
  const args = ["-NoLogo", "-NoProfile", "-NonInteractive", "-EncodedCommand", encoded]
  let resolve: (output: string) => void = () => undefined
  let reject: (error: unknown) => void = () => undefined
  const promise = new Promise<string>((settle, fail) => {
    resolve = settle
    reject = fail
  })
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"], windowsHide: true, shell: false })
  const chunks: Buffer[] = []
  let bytes = 0
  const end = (message: string, cause?: unknown) => {
    child.kill("SIGKILL")
    reject(new SecretBoxError("SECURE_STORE_UNAVAILABLE", message, { cause }))
  }
  const timer = setTimeout(() => end("PowerShell did not answer in time"), timeoutMs)
  child.on("error", (error) => end("there is no Windows PowerShell here, or it must not be started", error))
  child.stdout.on("data", (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxOutputBytes) return end("PowerShell's output exceeds the size limit")
    chunks.push(chunk)
  })
  child.on("close", () => {
    resolve(Buffer.concat(chunks).toString("utf8"))
    for (const chunk of chunks) chunk.fill(0)
  })
  // A process that does not read its input reports that by its exit.
  child.stdin.on("error", () => undefined)
  child.stdin.end(input)
  return promise.finally(() => clearTimeout(timer))
}
