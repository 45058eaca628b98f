"use client"
import { configure, type WebSignet } from "@signet/client-web"
import { SignetProvider, SignIn, UserButton, useSession } from "@signet/react"
import { useEffect, useState } from "react"
import "@signet/react/theme.css"

export default function Page() {
  const [signet, setSignet] = useState<WebSignet>()
  // A client belongs to a page in a browser: Next also renders this component on the server.
  useEffect(() => {
    const authBaseUrl = new URLSearchParams(location.search).get("auth") ?? ""
    const made = configure({ appId: "app_01kdvdna00edmtevk5ehj6axhg", authBaseUrl, providers: ["IDP_A"] })
    setSignet(made)
    return () => made.close()
  }, [])
  if (signet === undefined) return <main>Starting</main>
  return (
    <SignetProvider signet={signet}>
      <Account signet={signet} />
    </SignetProvider>
  )
}

function Account({ signet }: { signet: WebSignet }) {
  const state = useSession()
  const [notes, setNotes] = useState("")
  if (state.is === "starting") return <main>Starting</main>
  if (state.is === "loggedOut") {
    return (
      <main>
        <SignIn returnTo="/account" />
        <textarea
          aria-label="Login request of the stand-in"
          onChange={({ target }) => void signet.login(JSON.parse(target.value))}
        />
      </main>
    )
  }
  const read = async () => {
    const headers = { authorization: `Bearer ${await signet.session.accessToken("svc-notes")}` }
    setNotes(await (await fetch("/api/notes", { headers })).text())
  }
  return (
    <main>
      <UserButton />
      <button type="button" onClick={() => void read()}>
        Read notes
      </button>
      <output>{notes}</output>
    </main>
  )
}
