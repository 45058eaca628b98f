-- A place that is held, and will not be opened here again: the backend that it goes to may open it.
alter table messaging_place drop constraint messaging_place_state_check;
alter table messaging_place add constraint messaging_place_state_check
  check (state in ('OPEN', 'HOLDING', 'HELD', 'GIVEN', 'RECEIVING', 'MOVED'));
