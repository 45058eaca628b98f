"""The golden vectors: every target decides every case as the table says."""
import unittest

import targets
from world import SwitchedGuard, World, read_vectors

try:
    import grpc_targets
except ImportError as error:  # grpcio and protobuf are extras
    grpc_targets, missing = None, str(error)


class Decisions(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.world = World(read_vectors("decisions.json"))

    def decide_all(self, build):
        """build: a target for (guard, requirement, find_resource)."""
        world, built = self.world, {}
        wrong = []
        for case in world.vectors["cases"]:
            situation = world.vectors["situations"][case["situation"]]
            key = case["requirement"]
            if key not in built:
                guard = SwitchedGuard()
                requirement = world.requirements[case["requirement"]]
                built[key] = guard, build(guard, requirement, world.find_resource)
            guard, call = built[key]
            guard.now = world.guard_of(case["situation"])
            outcome = call(world.authorization_of(case["situation"]), situation.get("request", {}))
            expected = dict(case["expected"])
            if expected["allow"]:
                expected.setdefault("caller", world.subject_of(case["situation"]))
            if outcome != expected:
                wrong.append((case["requirement"], case["situation"], outcome, expected))
        for _, call in built.values():
            getattr(call, "close", lambda: None)()
        self.assertEqual(wrong, [])
        self.assertGreaterEqual(len(world.vectors["cases"]), 200)

    def test_plain_target(self):
        self.decide_all(targets.plain)

    def test_wsgi(self):
        self.decide_all(targets.wsgi)

    def test_asgi(self):
        self.decide_all(targets.asgi)

    def test_grpc(self):
        if grpc_targets is None:
            self.skipTest(missing)
        with grpc_targets.SyncServer() as server:
            self.decide_all(server.target)

    def test_grpc_aio(self):
        if grpc_targets is None:
            self.skipTest(missing)
        with grpc_targets.AioServer() as server:
            self.decide_all(server.target)


if __name__ == "__main__":
    unittest.main()
