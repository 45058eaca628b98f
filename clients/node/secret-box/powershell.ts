import { spawn } from "node:child_process"
import { SecretBoxError } from "@signet/client"

export interface PowershellOptions {
  /** Windows PowerShell, by its whole path: a name alone would be looked for where the program happens to be started. */
  readonly program?: string
  /** It is ended then. A cold start takes some seconds. Milliseconds. */
  readonly timeoutMs?: number
}

const defaultProgram = String.raw`C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe`
const maxOutputBytes = 64 * 1_024

/**
 * Runs a script without profile, window or questions.
 *
 * @param input For its standard input: command lines are read by others.
 * @returns What it wrote, at most 64 KiB; how it ended says nothing more.
 * @throws SecretBoxError SECURE_STORE_UNAVAILABLE where there is none, or it does not end in time.
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
    if (bytes > maxOutputBytes) return end("PowerShell does not stop writing")
    chunks.push(chunk)
  })
  child.on("close", () => {
    resolve(Buffer.concat(chunks).toString("utf8"))
    for (const chunk of chunks) chunk.fill(0)
  })
  // One that does not read its input says so by how it ends.
  child.stdin.on("error", () => undefined)
  child.stdin.end(input)
  return promise.finally(() => clearTimeout(timer))
}
