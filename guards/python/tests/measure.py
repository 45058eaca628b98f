"""Prints what verifying and deciding costs: microseconds a call, the best of five rounds."""
import time

from signet_guard import ANY_APP, Guard, Target, scope

from world import Keys, Signer, World, read_vectors

world = World(read_vectors("decisions.json"))
signer = Signer()


def guard_of(cache_size):
    return Guard(
        issuer=world.vectors["issuer"],
        audience=world.vectors["audience"],
        app_id=ANY_APP,
        key_set=Keys(signer),
        clock=world.clock,
        cache_size=cache_size,
    )


def measure(name, run, count):
    best = float("inf")
    for _ in range(5):
        before = time.perf_counter()
        for _ in range(count):
            run()
        best = min(best, (time.perf_counter() - before) / count)
    print(f"{name}: {best * 1e6:.1f} µs")


header = f"Bearer {signer.sign(world.vectors['header'], world.vectors['claims'])}"
warm, cold = guard_of(10_000), guard_of(0)
target = Target(warm, scope("notes.read"), {})
measure("verify, remembered", lambda: warm.authenticate(header), 2_000)
measure("verify, new", lambda: cold.authenticate(header), 500)
caller = warm.authenticate(header)
measure("decide a scope", lambda: target.authorize(caller, dict), 2_000)
