// signet-server health: exits with 0 if the server on this machine is ready. A container without another program uses it
// as its health check.
import { request } from "node:http"
import { request as secureRequest } from "node:https"
import { parseConfig } from "../config.ts"

const limitMs = 4_000

/** The status of `/readyz` and its body. */
function askReadiness(): Promise<{ readonly status: number; readonly body: string }> {
  const { host, port, tls } = parseConfig(process.env)
  const address = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host
  // The certificate names the public host, and the connection does not leave the machine.
  const options = { host: address, port, path: "/readyz", timeout: limitMs, rejectUnauthorized: false }
  return new Promise((resolve, reject) => {
    const asked = (tls === null ? request : secureRequest)(options, (response) => {
      let body = ""
      response.setEncoding("utf8")
      response.on("data", (text: string) => {
        body += text
      })
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }))
    })
    asked.on("timeout", () => asked.destroy(new Error(`the server did not answer within ${limitMs} ms`)))
    asked.on("error", reject)
    asked.end()
  })
}

try {
  const { status, body } = await askReadiness()
  console.log(body)
  process.exitCode = status === 200 ? 0 : 1
} catch (error) {
  console.error(error instanceof Error ? error.message : "the server did not answer")
  process.exitCode = 1
}
