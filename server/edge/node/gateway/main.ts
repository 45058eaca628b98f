// npm run edge:gateway -- --to URL [--listen [HOST:]PORT] [--tls-cert FILE --tls-key FILE] [--header NAME]…
// Serves HTTP/2 and native gRPC in front of a server that speaks Connect over HTTP/1.1, such as a Worker.
import { settingsOf, usage } from "./config.ts"

const settings = settingsOf(process.argv.slice(2))
if (settings === undefined) {
  console.error(usage)
  process.exit(2)
}
const { to, host, port, tls, moreHeaders } = settings
// Imported after the settings are parsed, so that invalid ones are refused at once.
const [{ Health }, { services }, { createLog }, { createGateway }] = await Promise.all([
  import("@signet/proto/grpc/health/v1/health"),
  import("../../../node/routes.ts"),
  import("../../../node/log.ts"),
  import("./gateway.ts"),
])
const log = createLog("info")
const gateway = createGateway({
  to,
  services: [...services, Health],
  moreHeaders,
  listener: { tls },
  onFault: (err) => log.warn({ err }, "a call failed"),
})
gateway.server.on("error", (err) => {
  log.fatal({ err }, "the gateway could not start")
  process.exit(1)
})
gateway.server.listen({ host, port }, () => {
  const address = gateway.server.address()
  const bound = typeof address === "object" && address !== null ? address.port : port
  const shown = host.includes(":") ? `[${host}]` : host
  log.info({ url: `http${tls ? "s" : ""}://${shown}:${bound}` }, "ready")
})

let isStopping = false
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (isStopping) process.exit(1)
    isStopping = true
    log.info({ signal }, "stopping")
    void gateway.close().then(() => process.exit(0))
  })
}
