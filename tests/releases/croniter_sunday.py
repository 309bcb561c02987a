"""Every other weekday, counted from a Sunday."""

from datetime import datetime

from croniter import croniter

times = croniter("0 0 * * */2", datetime(2024, 7, 14), expand_from_start_time=True)
print([f"{times.get_next(datetime):%a %d}" for _ in range(4)])
