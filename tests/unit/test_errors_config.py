"""Errors keep text, code and hint when pickled; settings become the driver's options."""

from __future__ import annotations

import pickle

import pytest

from rstream import _core, errors
from rstream.config import ClientConfig, DriverConfig, DriverSettings


@pytest.mark.parametrize(
    "name", [name for name in errors.__all__ if isinstance(getattr(errors, name), type)]
)
def test_every_error_is_picklable_and_says_what_to_do(name: str) -> None:
    kind = getattr(errors, name)
    if name == "BY_CODE":
        return
    error = kind("what and where", hint="what next", detail=5)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert (str(copy), copy.hint, copy.detail, copy.code) == (
        "what and where; what next",
        "what next",
        5,
        kind.default_code,
    )
    assert str(kind("only this")) == "; ".join(filter(None, ["only this", kind.default_hint]))


def test_tree() -> None:
    assert issubclass(errors.ChannelError, ValueError)
    assert issubclass(errors.DriverTimeout, TimeoutError)
    assert issubclass(errors.ClientTimedOut, errors.DriverLost)
    assert all(issubclass(kind, errors.RStreamError) for kind in errors.BY_CODE.values())


def test_settings_and_options_match_the_driver() -> None:
    known = {option.name for option in _core.driver_options()}
    config = DriverConfig(
        threading="shared",
        mtu=1408,
        timer_interval_s=0.1,
        idle_exit_s=0,
        options={"nak-unicast-delay": "5us"},
    )
    options = config.to_options()
    assert options == {
        "threading": "shared",
        "mtu": "1408",
        "timer-interval": "100000000ns",
        "idle-exit": "0ns",
        "nak-unicast-delay": "5us",
    }
    everything = {
        key: (1.0 if key.endswith("_s") else 4096)
        for key in DriverSettings.__annotations__
        if key not in ("threading", "idle", "budget", "options")
    }
    full = DriverConfig(threading="auto", idle="block", budget="dynamic", **everything).to_options()
    assert set(full) <= known
    assert len(full) == len(DriverSettings.__annotations__) - 1
    assert DriverConfig().to_options() == {}
    with pytest.raises(
        errors.ConfigError,
        match="budget='plenty': must be one of none, static, dynamic, aggressive",
    ):
        DriverConfig(budget="plenty")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("bad", [0, -1, 3601, float("nan")])
def test_client_settings_have_limits(bad: float) -> None:
    with pytest.raises(errors.ConfigError, match="keepalive_interval_s"):
        ClientConfig(keepalive_interval_s=bad)


def test_client_timeouts_from_the_environment(monkeypatch):
    assert ClientConfig().keepalive_interval_s == 0.5
    monkeypatch.setenv("RSTREAM_KEEPALIVE_INTERVAL", "100ms")
    monkeypatch.setenv("RSTREAM_DRIVER_TIMEOUT", "1s")
    assert ClientConfig().keepalive_interval_s == pytest.approx(0.1)
    assert ClientConfig().driver_timeout_s == 1.0
    assert ClientConfig(driver_timeout_s=3).driver_timeout_s == 3
    for wrong in ("", "soon", "-1s", "1 h", "0"):
        monkeypatch.setenv("RSTREAM_KEEPALIVE_INTERVAL", wrong)
        with pytest.raises(errors.ConfigError):
            ClientConfig()
