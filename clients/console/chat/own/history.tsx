import type { Messenger } from "@signet/client-web/messaging"
import {
  type CodeOfDevice,
  cancelHistory,
  confirmHistoryCode,
  grantHistoryByCode,
  grantHistoryByQr,
  type HistoryRequest,
  historyRequests,
  requestHistoryByCode,
  requestHistoryByQr,
} from "@signet/client-web/messaging/history"
import { useAction } from "@signet/react/core"
import { type ReactNode, useEffect, useState } from "react"
import { t } from "../../text/chat.ts"
import { QrCode } from "../keys/qr-code.tsx"
import { QrReader } from "../keys/qr-reader.tsx"
import { Problem } from "../problem.tsx"
import type { Transfers } from "./use-history.ts"

interface HistoryProps {
  readonly messenger: Messenger
  readonly transfers: Transfers
}

/** Moves the history from one device of the user to another: this one asks, or this one gives. */
export function History({ messenger, transfers }: HistoryProps): ReactNode {
  return (
    <section className="card">
      <h2>{t.keys.history}</h2>
      <p className="signet-muted">{t.keys.historyAbout}</p>
      <p role="status">
        {transfers.isRunning && (transfers.parts > 0 ? t.keys.parts(transfers.parts) : "")}
        {transfers.isDone && t.keys.historyDone}
      </p>
      {transfers.isRunning && transfers.parts > 0 && <progress aria-label={t.keys.running} />}
      <Problem error={transfers.error} />
      <Asking messenger={messenger} transfers={transfers} />
      <Giving messenger={messenger} transfers={transfers} />
    </section>
  )
}

interface Request {
  readonly transferId: string
  readonly qr?: string
  readonly codes?: readonly CodeOfDevice[]
}

/** On the new device: a QR code, or a number for each other device. */
function Asking({ messenger, transfers }: HistoryProps): ReactNode {
  const [request, setRequest] = useState<Request>()
  const ask = useAction(async (how: "qr" | "code") => {
    setRequest(await (how === "qr" ? requestHistoryByQr(messenger) : requestHistoryByCode(messenger)))
    transfers.start()
  })
  const confirm = useAction(async (code: CodeOfDevice) => {
    if (request === undefined) return
    await confirmHistoryCode(messenger, request.transferId, code)
    transfers.start()
  })
  const cancel = useAction(async () => {
    if (request !== undefined) await cancelHistory(messenger, request.transferId)
    setRequest(undefined)
    transfers.stop()
  })
  if (request === undefined || transfers.isDone) {
    return (
      <>
        <div className="chat-actions">
          <button type="button" className="signet-button" disabled={ask.isPending} onClick={() => ask.run("qr")}>
            {t.keys.getHistory}
          </button>
          <button type="button" className="signet-button" disabled={ask.isPending} onClick={() => ask.run("code")}>
            {t.keys.byCode}
          </button>
        </div>
        <Problem error={ask.error} />
      </>
    )
  }
  return (
    <>
      {request.qr !== undefined && (
        <>
          <p>{t.keys.showHistoryAbout}</p>
          <QrCode text={request.qr} label={t.keys.showHistoryCode} />
          <details>
            <summary>{t.keys.codeText}</summary>
            <output className="id qr-text" aria-label={t.keys.showHistoryCode}>
              {request.qr}
            </output>
          </details>
        </>
      )}
      {request.codes?.map((code) => (
        <div key={code.deviceId}>
          <p className="signet-muted">{t.keys.compareWith(code.deviceId)}</p>
          <Compared number={code.code} isPending={confirm.isPending} onSame={() => confirm.run(code)} />
        </div>
      ))}
      <Problem error={confirm.error ?? cancel.error} />
      <button type="button" className="signet-button" disabled={cancel.isPending} onClick={() => cancel.run()}>
        {t.keys.stop}
      </button>
    </>
  )
}

/** Between two looks for devices that ask. */
const lookMs = 3_000

/** On the old device: scans the new one's code, or compares its number. */
function Giving({ messenger, transfers }: HistoryProps): ReactNode {
  const [isOpen, setOpen] = useState(false)
  const [requests, setRequests] = useState<readonly HistoryRequest[]>()
  const [failure, setFailure] = useState<unknown>()
  useEffect(() => {
    if (!isOpen) return
    let isCurrent = true
    const look = () =>
      historyRequests(messenger).then(
        (found) => isCurrent && setRequests(found),
        (error: unknown) => isCurrent && setFailure(error),
      )
    void look()
    const timer = setInterval(look, lookMs)
    return () => {
      isCurrent = false
      clearInterval(timer)
    }
  }, [messenger, isOpen])
  const scan = useAction(async (qr: string) => {
    await grantHistoryByQr(messenger, qr)
    transfers.start()
  })
  const give = useAction(async ({ transferId, code = "" }: HistoryRequest) => {
    await grantHistoryByCode(messenger, transferId, code)
    setRequests((last) => last?.filter((one) => one.transferId !== transferId))
    transfers.start()
  })
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t.keys.sendHistory}</summary>
      <p className="signet-muted">{t.keys.sendHistoryAbout}</p>
      <QrReader label={t.keys.scanNew} action={t.keys.give} isPending={scan.isPending} onRead={scan.run} />
      <h3>{t.keys.requests}</h3>
      {requests?.length === 0 && <p>{t.keys.noRequests}</p>}
      <ul className="plain">
        {requests?.map((request) => (
          <li key={request.transferId}>
            <span className="signet-id">{request.deviceId}</span>
            {request.code === undefined ? (
              <p>{t.keys.asksByCode}</p>
            ) : (
              <Compared number={request.code} isPending={give.isPending} onSame={() => give.run(request)} />
            )}
          </li>
        ))}
      </ul>
      <Problem error={scan.error ?? give.error ?? failure} />
    </details>
  )
}

interface ComparedProps {
  readonly number: string
  readonly isPending: boolean
  readonly onSame: () => void
}

/** The number that both devices show, and the person's word that they are the same. */
function Compared({ number, isPending, onSame }: ComparedProps): ReactNode {
  return (
    <>
      <output className="safety">{number}</output>
      <button type="button" className="signet-button" disabled={isPending} onClick={onSame}>
        {t.keys.same}
      </button>
    </>
  )
}
