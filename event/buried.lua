-- buried: how many deliveries a message has that is a dead letter and not acknowledged yet.
-- Part.
local buried = 2 ^ 40
