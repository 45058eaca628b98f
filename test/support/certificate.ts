// A self-signed certificate for 127.0.0.1, created with the system's openssl.
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** PEM texts. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

/** Undefined without openssl. */
export function makeCertificate(): Certificate | undefined {
  const folder = mkdtempSync(join(tmpdir(), "signet-tls-"))
  const [keyFile, certFile] = [join(folder, "key.pem"), join(folder, "cert.pem")]
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
  try {
    execFileSync("openssl", ["req", "-x509", ...kind, ...names, "-keyout", keyFile, "-out", certFile], {
      stdio: "ignore",
    })
    return { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") }
  } catch {
    return undefined
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
